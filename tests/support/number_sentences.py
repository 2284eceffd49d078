"""News sentences in each language whose spelled numbers are read: {as it was|as it is in the update}.

Eight of a language in a row make a text that is long enough to be compared.
"""

from __future__ import annotations

UPDATES: dict[str, str] = {
    "en": """
The storm that crossed the coast on Sunday night killed {four|twelve} people in the fishing village of Marlow.
Police said {seven|nine} suspects had been arrested after the raid on a warehouse near the old harbour.
At least {twenty-two|thirty-one} miners were still trapped below ground when rescue teams arrived from the capital.
The company will close {three|five} factories in the north and move production to its new site abroad.
Doctors treated {sixteen|sixty} children who had eaten at the school canteen in the morning.
A court in the southern city sentenced the former minister to {eight|eleven} years in prison for fraud.
The bank promised to lend {two|six} million dollars to farmers whose fields had been flooded.
Nearly {fifty|ninety} houses were destroyed by the fire before the wind turned at dawn.
The team has now lost {six|ten} matches in a row and stands at the bottom of the table.
Inspectors found {two hundred|four hundred} barrels of chemicals that nobody had reported to the ministry.
""",
    "de": """
Bei dem Unwetter an der Küste sind am Sonntag {vier|zwölf} Menschen ums Leben gekommen, wie die Polizei mitteilte.
Nach der Razzia in einer Lagerhalle am alten Hafen wurden {sieben|neun} Verdächtige festgenommen.
Noch immer sind {zweiundzwanzig|einunddreißig} Bergleute unter Tage eingeschlossen, sagte der Einsatzleiter.
Der Konzern will {drei|fünf} Werke im Norden schließen und die Fertigung ins Ausland verlagern.
In der Klinik werden {sechzehn|sechzig} Kinder behandelt, die in der Schulkantine gegessen hatten.
Das Landgericht verurteilte den früheren Minister wegen Betrugs zu {acht|elf} Jahren Haft.
Die Bank stellt den Bauern {zwei|sechs} Millionen Euro für ihre überfluteten Felder bereit.
Das Feuer zerstörte {fünfzig|neunzig} Häuser, bevor der Wind am Morgen drehte.
Die Mannschaft hat nun {sechs|zehn} Spiele hintereinander verloren und ist Tabellenletzter.
Prüfer fanden {zweihundert|vierhundert} Fässer mit Chemikalien, die niemand gemeldet hatte.
""",
    "es": """
El temporal que azotó la costa el domingo dejó {cuatro|doce} muertos en un pueblo de pescadores.
La policía detuvo a {siete|nueve} sospechosos tras el registro de un almacén junto al puerto viejo.
Todavía hay {veintidós|treinta y uno} mineros atrapados bajo tierra, dijo el jefe de los equipos de rescate.
La empresa cerrará {tres|cinco} fábricas en el norte y llevará la producción a otro país.
El hospital atiende a {dieciséis|sesenta} niños que habían comido en el comedor de la escuela.
Un tribunal condenó al antiguo ministro a {ocho|once} años de cárcel por un delito de fraude.
El banco prestará {dos|seis} millones de euros a los agricultores que perdieron la cosecha.
El fuego destruyó {cincuenta|noventa} casas antes de que el viento cambiara al amanecer.
El equipo ha perdido {seis|diez} partidos seguidos y ocupa el último lugar de la tabla.
Los inspectores hallaron {doscientos|cuatrocientos} barriles de productos que nadie había declarado.
""",
    "fr": """
La tempête qui a frappé la côte dimanche soir a fait {quatre|douze} morts dans un village de pêcheurs.
La police a arrêté {sept|neuf} suspects après la fouille d'un entrepôt près du vieux port.
Il reste {vingt-deux|trente et un} mineurs bloqués sous terre, a indiqué le chef des secours.
Le groupe va fermer {trois|cinq} usines dans le nord et déplacer sa production à l'étranger.
L'hôpital soigne {seize|soixante} enfants qui avaient déjeuné à la cantine de leur école.
Le tribunal a condamné l'ancien ministre à {huit|onze} ans de prison pour une affaire de fraude.
La banque va prêter {deux|six} millions d'euros aux paysans qui ont perdu leurs récoltes.
Le feu a détruit {cinquante|quatre-vingt-dix} maisons avant que le vent ne tourne à l'aube.
L'équipe a perdu {six|dix} matchs de suite et se trouve à la dernière place du classement.
Les inspecteurs ont trouvé {deux cents|quatre cents} barils de produits que personne n'avait déclarés.
""",
    "it": """
La tempesta che ha colpito la costa domenica sera ha fatto {quattro|dodici} morti in un villaggio di pescatori.
La polizia ha arrestato {sette|nove} sospetti dopo la perquisizione di un deposito vicino al vecchio porto.
Sono ancora {ventidue|trentuno} i minatori bloccati sotto terra, ha detto il capo dei soccorsi.
Il gruppo chiuderà {tre|cinque} fabbriche nel nord e sposterà la produzione in un altro paese.
All'ospedale sono ricoverati {sedici|sessanta} bambini che avevano mangiato alla mensa della scuola.
Il tribunale ha condannato l'ex ministro a {otto|undici} anni di carcere per una vicenda di truffa.
La banca presterà {due|sei} milioni di euro ai contadini che hanno perso il raccolto.
Il fuoco ha distrutto {cinquanta|novanta} case prima che il vento girasse all'alba.
La squadra ha perso {sei|dieci} partite di fila e si trova all'ultimo posto della classifica.
Gli ispettori hanno trovato {duecento|quattrocento} barili di sostanze che nessuno aveva dichiarato.
""",
    "pt": """
A tempestade que atingiu o litoral no domingo deixou {quatro|doze} mortos em uma vila de pescadores.
A polícia prendeu {sete|nove} suspeitos depois da busca em um armazém perto do porto velho.
Ainda há {vinte e dois|trinta e um} mineiros presos debaixo da terra, disse o chefe do resgate.
A empresa vai fechar {três|cinco} fábricas no norte e levar a produção para outro país.
O hospital atende {dezesseis|sessenta} crianças que tinham comido na cantina da escola.
O tribunal condenou o antigo ministro a {oito|onze} anos de prisão por um crime de fraude.
O banco vai emprestar {dois|seis} milhões de reais aos agricultores que perderam a colheita.
O fogo destruiu {cinquenta|noventa} casas antes que o vento mudasse ao amanhecer.
A equipe perdeu {seis|dez} partidas seguidas e está no último lugar da tabela.
Os fiscais acharam {duzentos|quatrocentos} barris de produtos que ninguém havia declarado.
""",
    "ru": """
Во время шторма на побережье в воскресенье погибли {четыре|двенадцать} человека, сообщили в полиции.
После обыска на складе у старого порта задержали {семь|девять} подозреваемых, рассказал следователь.
Под землёй остаются {двадцать два|тридцать один} шахтёра, сообщил руководитель спасательных работ.
Компания закроет {три|пять} завода на севере страны и перенесёт производство за границу.
В больнице лечат {шестнадцать|шестьдесят} детей, которые обедали в школьной столовой.
Суд приговорил бывшего министра к {восьми|одиннадцати} годам колонии за мошенничество.
Банк выделит крестьянам {два|шесть} миллиона рублей на восстановление затопленных полей.
Огонь уничтожил {пятьдесят|девяносто} домов, прежде чем утром переменился ветер.
Команда проиграла {шесть|десять} матчей подряд и занимает последнее место в таблице.
Инспекторы нашли {двести|четыреста} бочек с химикатами, о которых никто не сообщал.
""",
    "ja": """
日曜日の夜に海岸を襲った嵐で漁村の住民{四|十二}人が死亡したと地元の警察が発表した。
警察は古い港の近くにある倉庫を捜索し、容疑者{七|九}人を逮捕したことを明らかにした。
坑内にはまだ作業員{二十二|三十一}人が閉じ込められており、救助隊が首都から到着した。
同社は北部にある工場{三|五}か所を閉鎖し、生産を海外の新しい拠点に移す方針を決めた。
学校の食堂で昼食をとった児童{十六|六十}人が病院で手当てを受け、症状はいずれも軽い。
地方裁判所は詐欺の罪に問われた元大臣に懲役{八|十一}年の判決を言い渡した。
銀行は畑が水につかった農家を支援するため総額{二百|六百}万円を貸し出す計画だ。
火災は明け方に風向きが変わるまで続き、住宅{五十|九十}棟が全焼した。
チームはこれで{六|十}連敗となり、順位表の最下位から抜け出せずにいる。
検査官は届け出のない薬品が入ったドラム缶{二百|四百}本を地下の倉庫で見つけた。
""",
    "zh": """
警方表示，星期日晚间袭击沿海地区的风暴造成渔村{四|十二}人死亡，搜救工作仍在继续。
警方搜查了旧港口附近的一座仓库，当场逮捕了{七|九}名嫌疑人，并查获大量现金。
救援队从首都赶到时，井下仍有{二十二|三十一}名矿工被困，通风设备已经恢复运转。
公司决定关闭北部的{三|五}家工厂，把生产转移到海外的新基地，工会对此表示反对。
医院正在治疗{十六|六十}名在学校食堂用餐后感到不适的儿童，目前情况稳定。
法院以诈骗罪判处这位前部长{八|十一}年有期徒刑，他的律师说将会提出上诉。
银行将向农田被淹的农民提供{两|六}百万元贷款，帮助他们在春天重新播种。
大火烧毁了{五十|九十}间房屋，直到黎明风向改变以后消防员才控制住火势。
这支球队已经{六|十}连败，在积分榜上排名最后，主教练面临巨大的压力。
检查人员在地下室发现{二百|四百}桶没有申报的化学品，工厂已经被勒令停产。
""",
    "nl": """
Bij de storm die zondag over de kust trok zijn {vier|twaalf} mensen om het leven gekomen, meldt de politie.
Na de inval in een loods bij de oude haven zijn {zeven|negen} verdachten aangehouden.
Er zitten nog {tweeëntwintig|eenendertig} mijnwerkers vast onder de grond, zei de leider van de redders.
Het bedrijf gaat {drie|vijf} fabrieken in het noorden sluiten en de productie verplaatsen.
In het ziekenhuis liggen {zestien|zestig} kinderen die in de kantine van hun school hadden gegeten.
De rechtbank veroordeelde de vroegere minister tot {acht|elf} jaar cel wegens fraude.
De bank leent de boeren {twee|zes} miljoen euro voor hun ondergelopen akkers.
Het vuur verwoestte {vijftig|negentig} huizen voordat de wind in de ochtend draaide.
De ploeg heeft nu {zes|tien} wedstrijden achter elkaar verloren en staat onderaan.
Inspecteurs vonden {tweehonderd|vierhonderd} vaten met chemicaliën die niemand had aangegeven.
""",
    "uk": """
Під час негоди на узбережжі в неділю загинули {чотири|дванадцять} рибалки, повідомили в поліції.
Після обшуку на складі біля старого порту затримали {сім|дев'ять} підозрюваних, розповів слідчий.
Під землею залишаються {двадцять два|тридцять один} шахтарі, сказав керівник рятувальних робіт.
Компанія закриє {три|п'ять} заводи на півночі країни та перенесе виробництво за кордон.
У лікарні лікують {шістнадцять|шістдесят} дітей, які обідали у шкільній їдальні.
Суд засудив колишнього міністра до {восьми|одинадцяти} років ув'язнення за шахрайство.
Банк виділить селянам {два|шість} мільйони гривень на відновлення затоплених полів.
Вогонь знищив {п'ятдесят|дев'яносто} будинків, перш ніж уранці змінився вітер.
Команда програла {шість|десять} матчів поспіль і посідає останнє місце в таблиці.
Інспектори знайшли {двісті|чотириста} бочок із хімікатами, про які ніхто не повідомляв.
""",
}

REWORDINGS: dict[str, str] = {
    "en": """
{One|A} resident of the village told reporters that the water had come without any warning.
The {first|last} of the boats was found by a fisherman on his way back to the harbour.
It was {once|long} the richest town on the coast, but its young people have moved away.
For {one|another} thing, said the teacher, nobody had told the parents what was going on.
The {second-hand|used} cars were sold at the market by a dealer from the neighbouring county.
The mayor counted {twelve|12} families in the gym and {two thousand|2,000} blankets from the army.
""",
    "de": """
{Ein|Der} Bewohner des Dorfes sagte, das Wasser sei ohne jede Warnung gekommen.
{Eine|Die} Sprecherin der Stadt wollte sich am Abend zunächst nicht dazu äußern.
Das {erste|letzte} Boot fand ein Fischer auf dem Weg zurück in den Hafen.
Die Behörden gaben {acht|Hinweise} und warnten die Anwohner vor weiteren Regenfällen.
{Einer|Mancher} der Helfer hatte seit der Nacht nicht mehr geschlafen, wie er berichtete.
Die Stadt zählte {zwölf|12} Familien in der Turnhalle und {zweitausend|2.000} Decken der Armee.
""",
    "es": """
{Un|El} vecino del pueblo contó que el agua había llegado sin ningún aviso.
{Una|La} portavoz del ayuntamiento no quiso responder a las preguntas por la noche.
La {primera|última} barca fue hallada por un pescador cuando volvía al puerto.
Uno de los {vecinos|padres} dijo que nadie había hablado con la escuela sobre los hechos.
La {once|fundación} ayudó a los ciegos del barrio a encontrar otro lugar donde vivir.
El alcalde contó {doce|12} familias en el gimnasio y {dos mil|2.000} mantas del ejército.
""",
    "fr": """
{Un|Cet} habitant du village a raconté que l'eau était arrivée sans aucun avertissement.
{Une|La} porte-parole de la mairie n'a pas voulu répondre aux questions dans la soirée.
La {première|dernière} barque a été retrouvée par un pêcheur qui rentrait au port.
Le pont {neuf|moderne} a tenu bon pendant toute la crue, selon les ingénieurs de la ville.
L'un des {pompiers|sauveteurs} n'avait pas dormi depuis le début de l'incendie dans la forêt.
Le maire a compté {quatre-vingts|80} familles dans le gymnase et {deux mille|2 000} couvertures.
""",
    "it": """
{Un|Quel} abitante del paese ha raccontato che l'acqua era arrivata senza alcun avviso.
{Una|La} portavoce del comune non ha voluto rispondere alle domande durante la serata.
La {prima|seconda} barca è stata trovata da un pescatore che tornava al porto.
Non {sei|resti} solo, ha detto il sindaco al ragazzo che aveva perso la casa.
Uno dei {pompieri|soccorritori} non dormiva dall'inizio dell'incendio nella foresta.
Il sindaco ha contato {dodici|12} famiglie nella palestra e {duemila|2.000} coperte dell'esercito.
""",
    "pt": """
{Um|O} morador da vila contou que a água tinha chegado sem nenhum aviso.
{Uma|A} porta-voz da prefeitura não quis responder às perguntas durante a noite.
O {primeiro|último} barco foi achado por um pescador que voltava para o porto.
Um dos {bombeiros|voluntários} não dormia desde o começo do incêndio na floresta.
Os moradores {dos|destes} bairros mais pobres foram os que mais sofreram com a cheia.
O prefeito contou {doze|12} famílias no ginásio e {dois mil|2.000} cobertores do exército.
""",
    "ru": """
{Один|Некий} житель деревни рассказал, что вода пришла без всякого предупреждения.
{Одна|Эта} из лодок была найдена рыбаком, который возвращался в порт.
{Первый|Последний} автобус с людьми отправился в областной центр ещё до рассвета.
Его {семью|родню} перевезли в гостиницу, где уже жили соседи с той же улицы.
{Одним|Общим} из решений стал перенос рынка на другую сторону площади у вокзала.
Мэр насчитал {двенадцать|12} семей в спортивном зале и {две тысячи|2 тысячи} одеял от армии.
""",
    "ja": """
{千葉|東京}の会社員は、水が何の前触れもなく押し寄せてきたと当時の様子を語った。
{一部|多く}の住民は夜のうちに避難所を出て、壊れた家の片付けを始めたという。
家族と{一緒|共}に逃げた女性は、坂の上の寺まで走ったと涙ながらに話した。
{九州|四国}の業者が集めた古い船は、港の外れに並べられたままになっている。
市長は備えが{十分|完全}ではなかったと認め、住民に対して深く頭を下げた。
市長は体育館に{十二|12}世帯、倉庫に{二千|2000}枚の毛布があることを確かめた。
""",
    "zh": """
{一位|有位}村民对记者说，大水来的时候没有任何预兆，大家只能往高处跑。
邻居们{一起|共同}把老人抬到了山坡上的寺庙里，在那里等待救援人员到来。
{一些|许多}商店在中午以后重新开门，老板们忙着把泥水扫到街上去。
市长承认准备工作{十分|非常}不足，并且向全体居民表示深深的歉意。
{千万|绝对}不要回到河边去，气象部门在广播里反复提醒下游的居民。
市长在体育馆里清点了{十二|12}户人家，军队还送来了{三千|3000}条毛毯。
""",
    "nl": """
{Een|De} bewoner van het dorp vertelde dat het water zonder waarschuwing was gekomen.
De {eerste|laatste} boot werd gevonden door een visser die terugvoer naar de haven.
{Eén|Sommige} van de helpers had sinds de nacht niet meer geslapen, zei de burgemeester.
De burgemeester telde {twaalf|12} gezinnen in de sporthal en {tweeduizend|2.000} dekens van het leger.
""",
    "uk": """
{Один|Якийсь} мешканець села розповів, що вода прийшла без жодного попередження.
{Одна|Ця} з човнів була знайдена рибалкою, який повертався до порту.
{Перший|Останній} автобус із людьми вирушив до обласного центру ще до світанку.
Мер нарахував {дванадцять|12} родин у спортивній залі та {дві тисячі|2 тисячі} ковдр від армії.
""",
}
